package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// serve answers each line with the name and the line, until the test ends.
func serve(t *testing.T, name string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintln(conn, name, lines.Text())
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// closed returns an address at which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestAsk_FindsTheServerThatServesAndSaysWhy(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out strings.Builder
	sound := serve(t, "sound")
	if err := ask(ctx, &out, []string{closed(t), sound, closed(t)}, "hello"); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "sound hello\n") || !strings.Contains(text, sound) {
		t.Errorf("got %q", text)
	}
}

func TestAsk_SaysThatNobodyCanBeReached(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out strings.Builder
	if err := ask(ctx, &out, []string{closed(t)}, "hello"); err == nil {
		t.Errorf("an answer without a server: %q", out.String())
	}
}
