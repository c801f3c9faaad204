create or replace function loom._loom_waits(p_loom loom.loom, p_rule loom.loom_rule, p_at timestamptz) returns text[]
language plpgsql stable
as $$
begin
  return array_remove(array[
    case when not p_rule.night_weaving then 'off' end,
    case when not p_loom.night_weaving_pending then 'nothing_pending' end,
    case when p_loom.last_activity_at + p_rule.quiet > p_at then 'quiet' end,
    case when p_loom.night_weaving_not_before > p_at then 'backoff' end,
    case when p_loom.leased_until > p_at then 'under_way' end,
    case loom._model_stop(p_loom.org, p_at)
      when 'MODEL_CALLS_OFF' then 'model_calls_off' when 'MODEL_TOKEN_CAP' then 'model_token_cap' end], null);
end
$$;
comment on function loom._loom_waits(loom.loom, loom.loom_rule, timestamptz) is
  'Why a loom''s night weaving does not begin now; nothing: a worker may take it.';
