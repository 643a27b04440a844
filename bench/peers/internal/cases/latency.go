package cases

// MaximumCase is the case whose first row is a contender's own maximum.
const MaximumCase = "both-single"
