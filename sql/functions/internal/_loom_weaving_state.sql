create or replace function loom._loom_weaving_state(p_loom loom.loom, p_at timestamptz) returns jsonb
language plpgsql stable
as $$
declare
  v_rule loom.loom_rule := loom._loom_rule_of(p_loom);
  v_waits text[] := loom._loom_waits(p_loom, v_rule, p_at);
begin
  return jsonb_build_object('due', v_waits = '{}', 'dueAt', loom._ts7(loom._loom_due_at(p_loom, v_rule)),
    'waitsFor', to_jsonb(v_waits), 'attempts', p_loom.attempts);
end
$$;
comment on function loom._loom_weaving_state(loom.loom, timestamptz) is 'When a loom is next woven at night, and why not yet.';
