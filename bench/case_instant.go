package main

import (
	"context"
	"slices"
	"time"
)

var instantCase = benchCase{
	name:    "instant",
	about:   "many steps due at one instant; when the last has run",
	cyclone: cycloneInstant,
	figures: []figure{
		{"steps due at one instant, last done after ms", lastMillis, target{of: medianValue, atMost: true, bound: 1500}},
		{"  earliest start minus due, ms", minMillis, target{of: worstValue, bound: 0}},
	},
}

func cycloneInstant(ctx context.Context, l *lab) (sample, error) {
	instant := dueTime(l.size.instant)
	late, err := l.punctual(ctx, l.size.instant, func(int) time.Time { return instant })
	if err != nil {
		return nil, err
	}
	return sample{minMillis: slices.Min(late), lastMillis: slices.Max(late)}, nil
}
