package poisegrpc

import (
	"strconv"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Classify is the default judgement of a call by its end.
//
//	no error                               Success
//	Canceled                               Cancelled
//	DeadlineExceeded, nothing came         Silent
//	DeadlineExceeded, something came       Cancelled
//	Unavailable, nothing was sent          Unreachable
//	Unavailable, nothing came              Failure
//	Unavailable by the server              Overloaded
//	ResourceExhausted by the server        Overloaded
//	Internal, Unknown, DataLoss by the     Failure
//	server, or of a connection that broke
//	those and ResourceExhausted, before    Invalid: this process failed at it
//	anything was sent
//	every other code                       Success: the request was at fault
//
// A server that asks for a pause in the trailer grpc-retry-pushback-ms gets it with
// Overloaded.
func Classify(done balancer.DoneInfo) poise.Result {
	if done.Err == nil {
		if !done.BytesSent && !done.BytesReceived {
			// gRPC ends so what it could not begin: the connection was gone.
			return poise.Result{Outcome: poise.Cancelled}
		}
		return poise.Result{}
	}
	r := poise.Result{Outcome: outcome(status.Code(done.Err), done.BytesSent, done.BytesReceived), Err: done.Err}
	if r.Outcome == poise.Overloaded {
		r.RetryAfter = pushback(done.Trailer.Get("grpc-retry-pushback-ms"))
	}
	return r
}

func outcome(code codes.Code, sent, answered bool) poise.Outcome {
	switch code {
	case codes.Canceled:
		return poise.Cancelled
	case codes.DeadlineExceeded:
		if answered {
			return poise.Cancelled
		}
		return poise.Silent
	case codes.Unavailable:
		switch {
		case answered:
			return poise.Overloaded
		case sent:
			return poise.Failure
		}
		return poise.Unreachable
	case codes.ResourceExhausted:
		if answered {
			return poise.Overloaded
		}
		return poise.Invalid // the request is larger than this process may send
	case codes.Internal, codes.Unknown, codes.DataLoss:
		if sent || answered {
			return poise.Failure
		}
		return poise.Invalid
	}
	return poise.Success
}

// pushback is the pause that a server asks for; 0 if it asks for none.
func pushback(values []string) time.Duration {
	if len(values) != 1 {
		return 0
	}
	ms, err := strconv.ParseUint(values[0], 10, 31)
	if err != nil {
		return 0 // a negative one says not to repeat, which is gRPC's to keep
	}
	return time.Duration(ms) * time.Millisecond
}
