package discovery_test

import (
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func TestStatic_KeepsItsOwnList(t *testing.T) {
	list := entries("a", "b")
	fetch := discovery.Static(list...)
	list[0].ID = "z"
	if got, err := fetch(t.Context()); err != nil || got.Entries[0].ID != "a" {
		t.Errorf("got %v, %v", got, err)
	}
}
