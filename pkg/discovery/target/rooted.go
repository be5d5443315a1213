package target

import (
	"errors"
	"io/fs"
	"os"
)

// errNotRegular means a file target that is a folder, a device or a pipe.
var errNotRegular = errors.New("target: not a regular file")

// rooted reads the files of one folder of the operating system. The folder is opened
// for each file, so that a folder which is replaced is found again. Links may lead
// to other files of the folder, and not out of it.
type rooted string

// Open opens a regular file.
func (r rooted) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(r))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // opening a pipe could wait for ever
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	return root.Open(name)
}
