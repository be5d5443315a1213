package discovery_test

import (
	"context"
	"fmt"
	"testing/fstest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// backend is what a source knows of a member.
type backend struct {
	Address string
	Weight  uint32
}

func sameBackend(a, b backend) bool { return a == b }

func Example() {
	directory, err := discovery.New(discovery.Config[backend]{Equal: sameBackend})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := directory.Open("file")
	if err != nil {
		fmt.Println(err)
		return
	}
	reload := func(list ...discovery.Entry[backend]) {
		result, err := session.Reconcile(list)
		fmt.Println("revision", result.Revision, "changed", result.Changed(), err)
	}
	a := discovery.Entry[backend]{ID: "a", Value: backend{"10.0.0.1:80", 1}}
	b := discovery.Entry[backend]{ID: "b", Value: backend{"10.0.0.2:80", 1}}
	reload(a, b)
	reload(b, a) // the same members
	reload(b)
	for _, m := range directory.Load().All() {
		fmt.Println(m.ID, m.Incarnation, m.Value.Address, m.Draining)
	}
	applied, err := directory.FinishDrain("a", 0) // its work has ended
	fmt.Println(applied.Effect, applied.Revision, err)

	// Output:
	// revision 1 changed true <nil>
	// revision 1 changed false <nil>
	// revision 2 changed true <nil>
	// a 1 10.0.0.1:80 true
	// b 2 10.0.0.2:80 false
	// drain finished 3 <nil>
}

func ExampleSnapshot_View() {
	directory, err := discovery.New(discovery.Config[backend]{Equal: sameBackend})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := directory.Open("static")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = session.Reconcile([]discovery.Entry[backend]{{ID: "a", Value: backend{"10.0.0.1:80", 3}}, {ID: "b", Value: backend{"10.0.0.2:80", 1}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := directory.Load().View(func(m discovery.Member[backend]) poise.Sample {
		weight, err := poise.NewWeight(m.Value.Weight)
		if err != nil {
			return poise.Sample{Status: poise.Unavailable}
		}
		return poise.Sample{Weight: weight}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sample := range view.All() {
		fmt.Println(sample.ID, sample.Incarnation, sample.Weight)
	}

	// Output:
	// a 1 3
	// b 2 1
}

func ExampleCursor_All() {
	directory, err := discovery.New(discovery.Config[backend]{Equal: sameBackend})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := directory.Open("static")
	if err != nil {
		fmt.Println(err)
		return
	}
	var last *discovery.Snapshot[backend]
	for snapshot := range directory.Cursor().All(context.Background()) {
		delta, err := snapshot.Delta(last)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, m := range delta.Joined {
			fmt.Println("joined", m.ID)
		}
		for _, m := range delta.DrainStarted {
			fmt.Println("drains", m.ID)
		}
		last = snapshot
		switch snapshot.Revision() { // in a program, another goroutine does this
		case 0:
			_, err = session.Upsert("a", backend{"10.0.0.1:80", 1})
		case 1:
			_, err = session.Remove("a")
		case 2:
			directory.Close()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	// Output:
	// joined a
	// drains a
}

func ExamplePoller() {
	directory, err := discovery.New(discovery.Config[backend]{Equal: sameBackend})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := directory.Open("backends.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	files := fstest.MapFS{"backends.txt": {Data: []byte("10.0.0.1:80\n10.0.0.2:80\n")}} // or the FS of an os.Root
	fetch, err := discovery.File(discovery.FileConfig[backend]{
		Files: files, Name: "backends.txt",
		Parse: discovery.Lines(func(line string) (discovery.Entry[backend], error) {
			return discovery.Entry[backend]{ID: line, Value: backend{line, 1}}, nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	poller, err := discovery.NewPoller(discovery.PollerConfig[backend]{Session: session, Fetch: fetch})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Unix(0, 0) // in a program, time.Now()
	wait, err := poller.Poll(context.Background(), now)
	fmt.Println(directory.Load().Len(), "members,", err)
	delete(files, "backends.txt")
	_, err = poller.Poll(context.Background(), now.Add(wait))
	fmt.Println(err)
	fmt.Println(directory.Load().Len(), "members,", poller.Status().Failures, "failure")

	// Output:
	// 2 members, <nil>
	// discovery: source "backends.txt", failure 1 in a row: open backends.txt: file does not exist
	// 2 members, 1 failure
}
