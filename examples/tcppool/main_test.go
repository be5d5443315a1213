package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// echo starts a server that answers each line with its name and the line.
func echo(t *testing.T, name string) (address string, opened *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opened = new(atomic.Int64)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if opened.Add(1); lines.Text() == "drop" {
						return
					}
					fmt.Fprintf(conn, "%s %s\n", name, lines.Text())
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})
	return listener.Addr().String(), opened
}

func TestRun_AnswersEveryLineThoughOneServerIsDown(t *testing.T) {
	a, seenA := echo(t, "a")
	b, seenB := echo(t, "b")
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := down.Addr().String()
	_ = down.Close()
	var out strings.Builder
	if err := run([]string{a, b, address}, strings.NewReader(strings.Repeat("hello\n", 50)), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `hello", <nil>`); n != 50 || seenA.Load()+seenB.Load() != 50 {
		t.Errorf("%d of 50 lines were answered:\n%s", n, out.String())
	}
	if seenA.Load() == 0 || seenB.Load() == 0 {
		t.Errorf("one of them got nothing: %d and %d", seenA.Load(), seenB.Load())
	}
	for _, part := range []string{"PowerOfTwoChoices chose", "of 3 candidates", "connection refused"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in:\n%s", part, out.String())
		}
	}
}

// A line that may have been received is not sent a second time.
func TestRun_SendsALineOnce(t *testing.T) {
	a, seen := echo(t, "a")
	var out strings.Builder
	if err := run([]string{a}, strings.NewReader("drop\nhello\n"), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"", EOF`) || !strings.Contains(out.String(), `"a hello", <nil>`) || seen.Load() != 2 {
		t.Errorf("after %d lines:\n%s", seen.Load(), out.String())
	}
}

func TestRun_RefusesAnAddressThatOccursTwice(t *testing.T) {
	if err := run([]string{"127.0.0.1:1", "127.0.0.1:1"}, strings.NewReader(""), new(strings.Builder)); err == nil {
		t.Error("it is taken")
	}
}
