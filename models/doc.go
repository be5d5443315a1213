// Package models runs the library's shared types under every schedule of small
// concurrent cases; see README.md. Its tests are built under the tag interleave.
package models
