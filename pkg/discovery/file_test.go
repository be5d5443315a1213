package discovery_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func line(text string) (e discovery.Entry[int], err error) {
	_, err = fmt.Sscanf(text, "%s %d", &e.ID, &e.Value)
	return e, err
}

func TestFile_IsReadAgain(t *testing.T) {
	files := fstest.MapFS{}
	d := newDirectory(t, discovery.Config[int]{})
	fetch, err := discovery.File(discovery.FileConfig[int]{Files: files, Name: "members", Parse: discovery.Lines(line)})
	if err != nil {
		t.Fatal(err)
	}
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "file"), Fetch: fetch})
	for i, row := range []struct {
		text string
		fail string
		ids  string
	}{
		{"", "does not exist", ""},
		{"# who is there\n a 1\n\n\tb 2\r\n", "", "a b"},
		{"b 2\na 1", "", "a b"},
		{"a 1\n\nb two\n", "line 3", "a b"},
		{"# nobody\n", "no members", "a b"},
		{"c 3\nb 2\n", "", "(a) b c"},
	} {
		if row.text != "" {
			files["members"] = &fstest.MapFile{Data: []byte(row.text)}
		}
		_, err := p.Poll(t.Context(), start.Add(time.Duration(i)*time.Hour))
		if (err != nil) != (row.fail != "") || err != nil && !strings.Contains(err.Error(), row.fail) {
			t.Errorf("row %d: %v, want %q", i, err, row.fail)
		}
		if got := ids(d.Load()); got != row.ids {
			t.Errorf("row %d: %s, want %s", i, got, row.ids)
		}
	}
	if r := d.Load().Revision(); r != 2 {
		t.Errorf("revision %d: a file in another order is no change", r)
	}
}

// Claim: A file of more than MaxBytes is refused as a whole with a LimitError, and not read beyond that.
func TestFile_OfTooManyBytesIsRefused(t *testing.T) {
	for size, ok := range map[int]bool{9: true, 10: true, 11: false, 1 << 20: false} {
		parsed := -1
		fetch, err := discovery.File(discovery.FileConfig[int]{
			Files: fstest.MapFS{"members": {Data: make([]byte, size)}}, Name: "members", MaxBytes: 10,
			Parse: func(data []byte) ([]discovery.Entry[int], error) { parsed = len(data); return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = fetch(t.Context())
		limit, limited := errors.AsType[*discovery.LimitError](err)
		if limited == ok || limited && (*limit != discovery.LimitError{Err: discovery.ErrTooLarge, Found: 11, Limit: 10} || parsed != -1) || ok && parsed != size {
			t.Errorf("%d bytes: %v, %d parsed", size, err, parsed)
		}
	}
}

// spyFile is a file of so many bytes that fails then with err, if there is one, and
// notes what was read and whether it was closed.
type spyFile struct {
	fs.File
	size, read int
	err        error
	closed     bool
}

func (f *spyFile) Read(b []byte) (int, error) {
	n := min(len(b), f.size-f.read)
	f.read += n
	switch {
	case n > 0:
		return n, nil
	case f.err != nil:
		return 0, f.err
	}
	return 0, io.EOF
}

func (f *spyFile) Close() error { f.closed = true; return nil }

// spyFiles holds one file.
type spyFiles struct{ file *spyFile }

func (s spyFiles) Open(string) (fs.File, error) { return s.file, nil }

// Claim: A file of more than MaxBytes is refused as a whole with a LimitError, and not read beyond that.
func TestFile_IsClosedAndNotReadBeyondItsLimit(t *testing.T) {
	broken := errors.New("broken")
	for _, row := range []struct {
		size, most, read int
		err              error
	}{
		{9, 10, 9, nil}, {10, 10, 10, nil}, {50, 10, 11, discovery.ErrTooLarge}, {5, 10, 5, broken}, {1, 1, 1, nil}, {2, 1, 2, discovery.ErrTooLarge},
	} {
		file := &spyFile{size: row.size}
		if row.err == broken {
			file.err = broken
		}
		parsed := -1
		fetch, err := discovery.File(discovery.FileConfig[int]{
			Files: spyFiles{file}, Name: "members", MaxBytes: int64(row.most),
			Parse: func(data []byte) ([]discovery.Entry[int], error) { parsed = len(data); return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fetch(t.Context()); !errors.Is(err, row.err) || (parsed >= 0) != (row.err == nil) {
			t.Errorf("%+v: %v, %d parsed", row, err, parsed)
		}
		if !file.closed || file.read != row.read {
			t.Errorf("%+v: closed %v, %d bytes read", row, file.closed, file.read)
		}
	}
}

func TestFile_RefusesBadSettings(t *testing.T) {
	files, parse := fstest.MapFS{}, discovery.Lines(line)
	for _, row := range []struct {
		cfg   discovery.FileConfig[int]
		field string
		err   error
	}{
		{discovery.FileConfig[int]{Name: "a", Parse: parse}, "Files", discovery.ErrMissing},
		{discovery.FileConfig[int]{Files: files, Name: "../a", Parse: parse}, "Name", fs.ErrInvalid},
		{discovery.FileConfig[int]{Files: files, Parse: parse}, "Name", fs.ErrInvalid},
		{discovery.FileConfig[int]{Files: files, Name: ".", Parse: parse}, "Name", fs.ErrInvalid},
		{discovery.FileConfig[int]{Files: files, Name: "a"}, "Parse", discovery.ErrMissing},
		{discovery.FileConfig[int]{Files: files, Name: "a", Parse: parse, MaxBytes: -1}, "MaxBytes", discovery.ErrOutOfRange},
	} {
		_, err := discovery.File(row.cfg)
		requireField(t, row.field, err, row.field, row.err)
	}
}
