package main

import (
	"context"
	"errors"
)

func graphs(context.Context, settings) error { return errors.New("not yet") }
