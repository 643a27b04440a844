package step

import (
	"fmt"

	"github.com/cyclone-queue/cyclone/retry"
)

// RetryPolicy is [retry.Policy]: a zero field means that of the task.
type RetryPolicy = retry.Policy

// Option is a setting of one recorded step.
type Option struct{ policy *RetryPolicy }

// Retry makes the step follow a policy of its own instead of the task's. A field
// that is left at zero is that of the task. A bad policy makes [Do] return an error
// that fails the run; the function does not run.
func Retry(policy RetryPolicy) Option { return Option{policy: &policy} }

// ruleOf returns the rule of a step: the task's, with the options over it.
func ruleOf(rule retry.Rule, opts []Option) (retry.Rule, error) {
	for _, opt := range opts {
		if opt.policy == nil {
			continue
		}
		if err := opt.policy.Validate(); err != nil {
			return rule, fmt.Errorf("retry policy: %w", err)
		}
		if opt.policy.MaxAttempts > 0 {
			rule.MaxAttempts = opt.policy.MaxAttempts
		}
		if len(opt.policy.Delays) > 0 {
			rule.Delays, rule.Backoff = opt.policy.Delays, nil
		}
	}
	return rule, nil
}
