// Package fuzz holds the native fuzz targets and the corpora they begin with.
// They see the library only as its users do.
package fuzz
