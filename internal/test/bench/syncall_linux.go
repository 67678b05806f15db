package main

import "golang.org/x/sys/unix"

// syncAll makes everything durable that lies on the file system of a folder, in one call, as a batch does.
func syncAll(folder string) error {
	fd, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Syncfs(fd)
}
