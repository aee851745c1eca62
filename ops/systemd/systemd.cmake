# The service: its paths are those of the Debian package, so only that installs it.
install(FILES systemd/larderd.service DESTINATION lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
install(FILES systemd/larder.sysusers DESTINATION lib/sysusers.d RENAME larder.conf COMPONENT service EXCLUDE_FROM_ALL)
install(FILES systemd/larder.tmpfiles DESTINATION lib/tmpfiles.d RENAME larder.conf COMPONENT service EXCLUDE_FROM_ALL)
install(FILES systemd/larder.toml DESTINATION /etc/larder COMPONENT service EXCLUDE_FROM_ALL)
