dist_man_MANS = man/libretry.1 man/libretry.conf.5 man/libretry.7
dist_man_MANS += man/libretry-stats.1 man/libretry-hold.1
dist_man_MANS += man/libretry-explain.1 man/libretry-suggest.1
dist_man_MANS += man/libretry-simulate.1
dist_man_MANS += man/libretry-doctor.1
dist_man_MANS += man/libretry-report.1
dist_man_MANS += man/libretry-recipes.7
