package poisegrpc_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/copyleftdev/poise-go/adapters/poisegrpc"
	poise "github.com/copyleftdev/poise-go/pkg"
)

func TestClassify_KnowsEveryCode(t *testing.T) {
	const nothing, sent, answered = 0, 1, 2
	of := func(code codes.Code, bytes int) poise.Outcome {
		done := balancer.DoneInfo{BytesSent: bytes >= sent, BytesReceived: bytes >= answered}
		if code != codes.OK {
			done.Err = status.Error(code, "text")
		}
		return poisegrpc.Classify(done).Outcome
	}
	for code, want := range map[codes.Code][3]poise.Outcome{
		codes.OK:                 {poise.Cancelled, poise.Success, poise.Success},
		codes.Canceled:           {poise.Cancelled, poise.Cancelled, poise.Cancelled},
		codes.DeadlineExceeded:   {poise.Silent, poise.Silent, poise.Cancelled},
		codes.Unavailable:        {poise.Unreachable, poise.Failure, poise.Overloaded},
		codes.ResourceExhausted:  {poise.Invalid, poise.Invalid, poise.Overloaded},
		codes.Internal:           {poise.Invalid, poise.Failure, poise.Failure},
		codes.Unknown:            {poise.Invalid, poise.Failure, poise.Failure},
		codes.DataLoss:           {poise.Invalid, poise.Failure, poise.Failure},
		codes.InvalidArgument:    {poise.Success, poise.Success, poise.Success},
		codes.NotFound:           {poise.Success, poise.Success, poise.Success},
		codes.AlreadyExists:      {poise.Success, poise.Success, poise.Success},
		codes.PermissionDenied:   {poise.Success, poise.Success, poise.Success},
		codes.FailedPrecondition: {poise.Success, poise.Success, poise.Success},
		codes.Aborted:            {poise.Success, poise.Success, poise.Success},
		codes.OutOfRange:         {poise.Success, poise.Success, poise.Success},
		codes.Unimplemented:      {poise.Success, poise.Success, poise.Success},
		codes.Unauthenticated:    {poise.Success, poise.Success, poise.Success},
	} {
		for bytes, want := range want {
			if got := of(code, bytes); got != want {
				t.Errorf("%v with %d of nothing, sent, answered is %v, want %v", code, bytes, got, want)
			}
		}
	}
	if of(codes.OK, nothing) != poise.Cancelled {
		t.Error("a call that did not begin is a success")
	}
}

func TestClassify_TakesThePauseOfAServer(t *testing.T) {
	for _, row := range []struct {
		code   codes.Code
		values []string
		want   time.Duration
	}{
		{codes.Unavailable, []string{"250"}, 250 * time.Millisecond},
		{codes.ResourceExhausted, []string{"0"}, 0},
		{codes.Unavailable, []string{"-1"}, 0},
		{codes.Unavailable, []string{"soon"}, 0},
		{codes.Unavailable, []string{"99999999999999999999"}, 0},
		{codes.Unavailable, []string{"1", "2"}, 0},
		{codes.Unavailable, nil, 0},
		{codes.Internal, []string{"250"}, 0},
	} {
		done := balancer.DoneInfo{
			Err: status.Error(row.code, "text"), BytesSent: true, BytesReceived: true,
			Trailer: metadata.MD{"grpc-retry-pushback-ms": row.values},
		}
		if r := poisegrpc.Classify(done); r.RetryAfter != row.want || r.Err != done.Err {
			t.Errorf("%v with %q asks for %v, want %v", row.code, row.values, r.RetryAfter, row.want)
		}
	}
}
