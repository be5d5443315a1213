module github.com/copyleftdev/poise-go

go 1.26

require (
	github.com/leanovate/gopter v0.2.11
	pgregory.net/rapid v1.3.0
)
