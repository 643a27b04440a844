package main

import (
	"fmt"
	"strings"
)

// allCases are run and reported in this order.
var allCases = []benchCase{
	bulkCase, singlesCase, drainCase, bothCase, pickupCase,
	scheduledCase, instantCase, memoryCase, uniqueMemoryCase, idleCase,
	chainCase, diamondCase, fanCase, taskCase,
}

// pick returns the cases named in a comma-separated list, in report order, and
// all of them for an empty one.
func pick(list string) ([]benchCase, error) {
	if list == "" {
		return allCases, nil
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	var picked []benchCase
	for _, c := range allCases {
		if wanted[c.name] {
			picked = append(picked, c)
			delete(wanted, c.name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("no case is named %q: there are %s", name, strings.Join(caseNames(), ", "))
	}
	return picked, nil
}

func caseNames() []string {
	names := make([]string, len(allCases))
	for i, c := range allCases {
		names[i] = c.name
	}
	return names
}
