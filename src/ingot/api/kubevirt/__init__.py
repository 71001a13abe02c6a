"""The kinds of kubevirt.io: virtual machines and their disks."""
