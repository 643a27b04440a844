package client

import "runtime/debug"

// moduleVersion is the version of a module that is linked in.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == path {
			if module.Replace != nil {
				return "this tree"
			}
			return module.Version
		}
	}
	return ""
}
