CREATE TABLE IF NOT EXISTS cyclone_inbox (
    scope      text        NOT NULL,
    run_id     bigint      NOT NULL,
    node       text        NOT NULL,
    effect     text        NOT NULL,
    result     jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, run_id, node, effect)
);
CREATE INDEX IF NOT EXISTS cyclone_inbox_created_at ON cyclone_inbox (created_at);
