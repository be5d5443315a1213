package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// numberHeader carries the number of a request, by which it is known at the
// servers.
const numberHeader = "Demo-Number"

func numberOf(header http.Header) uint64 {
	n, _ := strconv.ParseUint(header.Get(numberHeader), 10, 64)
	return n // 0, which no request has, if it came from somebody else
}

// arrival is a request that began at a server.
type arrival struct {
	number uint64
	method string
}

// server is a real HTTP server with a listener of its own. What began at it is
// noted outside of what a kill destroys.
type server struct {
	address string
	behave  http.HandlerFunc
	faulty  *faulty // nil: it is never ill

	mu sync.Mutex
	// Guarded by mu.
	arrivals []arrival
	http     *http.Server
	ended    chan struct{} // closed when http has ended
}

// startServer starts a server on a port of its own, which stays its own.
func startServer(behave http.HandlerFunc) (*server, error) {
	s := &server{behave: behave}
	listener, err := listenAnywhere()
	if err != nil {
		return nil, err
	}
	s.address = listener.Addr().String()
	s.serve(listener)
	return s, nil
}

// listenAnywhere listens below the ports that systems give to outgoing
// connections: while a killed server is away, nothing else shall get its port by
// accident.
func listenAnywhere() (net.Listener, error) {
	const first, ports, tries = 20000, 12000, 100
	var err error
	for range tries {
		var listener net.Listener
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(ports)))
		if listener, err = net.Listen("tcp", address); err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("no free port on loopback: %w", err)
}

func (s *server) serve(listener net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := &http.Server{
		Handler:           http.HandlerFunc(s.handle),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	ended := make(chan struct{})
	s.http, s.ended = running, ended
	go func() {
		defer close(ended)
		_ = running.Serve(listener) // always ends in http.ErrServerClosed
	}()
}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != healthPath {
		s.mu.Lock()
		s.arrivals = append(s.arrivals, arrival{numberOf(r.Header), r.Method})
		s.mu.Unlock()
	}
	// Only after its body is read does a server notice that a client has gone.
	_, _ = io.Copy(io.Discard, r.Body)
	s.behave(w, r)
}

// began returns what began at the server so far, in order.
func (s *server) began() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals[:len(s.arrivals):len(s.arrivals)]
}

// kill ends the server as a crash would: its listener and all its connections
// close, whatever they were doing.
func (s *server) kill() {
	s.mu.Lock()
	running, ended := s.http, s.ended
	s.mu.Unlock()
	_ = running.Close()
	<-ended
}

// restart brings a killed server back on its port.
func (s *server) restart(ctx context.Context) error {
	// Some systems keep a port for a moment.
	const pause, patience = 20 * time.Millisecond, 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		listener, err := net.Listen("tcp", s.address)
		if err == nil {
			s.serve(listener)
			return nil
		}
		if !wait(ctx, pause) {
			return fmt.Errorf("the killed server could not be restarted: %w", err)
		}
	}
}

// wait waits, unless the context ends first. It reports whether it waited.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// answer is the body of every good response.
var answer = strings.Repeat("poise\n", 100)

// answersIn takes d, give or take a fifth.
func answersIn(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if wait(r.Context(), d*4/5+rand.N(d*2/5)) {
			_, _ = io.WriteString(w, answer)
		}
	}
}

// resets answers in d, but resets the connection in mid-body once in so many
// requests.
func resets(d time.Duration, onceIn uint64) http.HandlerFunc {
	good := answersIn(d)
	return func(w http.ResponseWriter, r *http.Request) {
		if n := numberOf(r.Header); n == 0 || n%onceIn != 0 { // a probe has no number
			good(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = io.WriteString(w, answer[:len(answer)/2])
		_ = resetConnection(w)
	}
}

func resetConnection(w http.ResponseWriter) error {
	control := http.NewResponseController(w)
	if err := control.Flush(); err != nil {
		return err
	}
	conn, _, err := control.Hijack()
	if err != nil {
		return err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetLinger(0) // close by a reset
	}
	return errors.Join(err, conn.Close())
}

// fails says at once that it cannot serve.
func fails(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "no", http.StatusServiceUnavailable)
}

// hangs never answers.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
