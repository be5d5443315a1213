package discovery

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// FileConfig are the settings of File.
type FileConfig[V any] struct {
	_ struct{}
	// Files is where the file is. Required. For files of the operating system use
	// os.Root.FS, which no link leads out of; os.DirFS follows links anywhere.
	Files fs.FS
	// Name is the name of the file in Files. Required.
	Name string
	// Parse makes members of what the file holds. Required; Lines makes one.
	Parse func([]byte) ([]Entry[V], error)
	// MaxBytes is the most that a file may hold; 1 or more, default 16 MiB.
	MaxBytes int64
}

// File returns a Fetch that reads a file and has it parsed, or a
// [poise.FieldError]. Write the file elsewhere and rename it into place: half a
// list looks like a list.
//
// # Contract
//
//   - A file of more than MaxBytes is refused as a whole with a LimitError, and not read beyond that.
func File[V any](cfg FileConfig[V]) (Fetch[V], error) {
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 16<<20)
	switch {
	case cfg.Files == nil:
		return nil, refuse("Files", nil, ErrMissing)
	case !fs.ValidPath(cfg.Name) || cfg.Name == ".":
		return nil, refuse("Name", cfg.Name, fs.ErrInvalid)
	case cfg.Parse == nil:
		return nil, refuse("Parse", nil, ErrMissing)
	case cfg.MaxBytes < 1:
		return nil, refuse("MaxBytes", cfg.MaxBytes, ErrOutOfRange)
	}
	return func(context.Context) (Listing[V], error) {
		data, err := readFile(cfg.Files, cfg.Name, cfg.MaxBytes)
		if err != nil {
			return Listing[V]{}, err
		}
		entries, err := cfg.Parse(data)
		return Listing[V]{Entries: entries}, err
	}, nil
}

// readFile returns what the file holds, if that is at most so many bytes.
func readFile(files fs.FS, name string, most int64) ([]byte, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(&io.LimitedReader{R: file, N: most})
	if err != nil {
		return nil, err
	}
	if int64(len(data)) == most {
		if n, _ := io.ReadFull(file, make([]byte, 1)); n > 0 {
			return nil, &LimitError{Found: most + 1, Limit: most, Err: ErrTooLarge}
		}
	}
	return data, nil
}

// Lines returns a parser for File that parses each line by itself. Space around a
// line, empty lines and lines that begin with # are left out. A line that is
// refused is named by its number, and refuses the whole.
func Lines[V any](parse func(line string) (Entry[V], error)) func([]byte) ([]Entry[V], error) {
	return func(data []byte) (entries []Entry[V], err error) {
		number := 0
		for line := range strings.Lines(string(data)) {
			number++
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			e, err := parse(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			entries = append(entries, e)
		}
		return entries, nil
	}
}
