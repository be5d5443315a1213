//go:build !plan9

package poisehttp

import (
	"errors"
	"runtime"
	"syscall"
)

// isLocal reports whether this process failed at the call: it has no file
// descriptors, ports, buffers or memory left.
func isLocal(err error) bool {
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return false
	}
	if runtime.GOOS == "windows" {
		switch number {
		case 10024, 10048, 10049, 10055: // WSAEMFILE, WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAENOBUFS
			return true
		}
	}
	switch number {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.EADDRINUSE:
		return true
	}
	return false
}
