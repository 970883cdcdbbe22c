# What is for those who install it for others. The packages are made by
# scripts/package.
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/rules \
	debian/source/format debian/libretry.README.Debian debian/libretry.docs \
	debian/libretry.install debian/libretry.lintian-overrides debian/libretry.triggers \
	debian/libretry-tools.lintian-overrides debian/source/lintian-overrides debian/libretry-tools.docs \
	debian/libretry-tools.examples debian/libretry-tools.install debian/tests/control \
	debian/tests/late-server scripts/package scripts/package-trial packaging/libretry.spec
EXTRA_DIST += deploy/README.md deploy/docker/Dockerfile deploy/docker/compose.yaml \
	deploy/grafana/libretry.json deploy/prometheus/libretry-alerts.yml \
	deploy/prometheus/kubernetes.yml \
	deploy/prometheus/prometheus.yml deploy/kubernetes/base/configmap.yaml \
	deploy/kubernetes/base/deployment.yaml deploy/kubernetes/base/kustomization.yaml \
	deploy/kubernetes/base/service.yaml \
	deploy/kubernetes/overlays/production/deployment-patch.yaml \
	deploy/kubernetes/overlays/production/kustomization.yaml \
	deploy/kubernetes/overlays/production/search.conf \
	deploy/systemd/libretry.conf deploy/systemd/libretry-exporter@.service \
	deploy/systemd/hold.conf

deb: dist
	$(srcdir)/scripts/package $(abs_builddir)/$(distdir).tar.xz
.PHONY: deb
