package main

import (
	"errors"
	"os"
	"runtime/pprof"
)

// profiled runs work and writes a processor profile of it to the named file, if any.
func profiled(path string, work func() error) (err error) {
	if path == "" {
		return work()
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return work()
}
