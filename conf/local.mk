# The system's file says what is built in: installed once, never over a changed one.
EXAMPLES = conf/examples/batch.conf conf/examples/containers.conf \
	conf/examples/database.conf conf/examples/full.conf conf/examples/http.conf \
	conf/examples/outages.txt
examplesdir = $(docdir)/examples
dist_examples_DATA = $(EXAMPLES)
EXTRA_DIST += conf/libretry.conf

install-data-local:
	$(MKDIR_P) $(DESTDIR)$(sysconfdir)/libretry/hosts.d $(DESTDIR)$(sysconfdir)/libretry/conf.d
	@if test -e $(DESTDIR)$(sysconfdir)/libretry/libretry.conf; then \
	  echo "keeping $(DESTDIR)$(sysconfdir)/libretry/libretry.conf"; \
	else \
	  $(INSTALL_DATA) $(srcdir)/conf/libretry.conf $(DESTDIR)$(sysconfdir)/libretry/libretry.conf; \
	fi

# An unchanged file goes, a changed one stays.
uninstall-local:
	-cmp -s $(srcdir)/conf/libretry.conf $(DESTDIR)$(sysconfdir)/libretry/libretry.conf && \
	  rm -f $(DESTDIR)$(sysconfdir)/libretry/libretry.conf
	-rmdir $(DESTDIR)$(sysconfdir)/libretry/hosts.d $(DESTDIR)$(sysconfdir)/libretry/conf.d \
	  $(DESTDIR)$(sysconfdir)/libretry 2>/dev/null
