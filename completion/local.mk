# Where the shells look for what others install.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_bashcompletion_DATA = completion/bash/libretry
dist_zshcompletion_DATA = completion/zsh/_libretry
dist_fishcompletion_DATA = completion/fish/libretry.fish
