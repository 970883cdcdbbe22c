dist_man_MANS = man/libretry.1 man/libretry.conf.5 man/libretry.7
