module github.com/copyleftdev/poise-go

go 1.26
