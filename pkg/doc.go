// Package poise holds the vocabulary of load balancing: candidates, views,
// policies, pickers, selections, load trackers and the hash pipeline.
package poise
