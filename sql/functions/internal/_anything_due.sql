create or replace function loom._anything_due(p_kind loom.work_kind, p_since timestamptz, p_at timestamptz) returns boolean
language plpgsql stable
as $$
declare
  -- A minute more: a write that was under way then has told its time, but was not seen yet.
  v_since timestamptz := p_since - interval '1 minute';
begin
  perform from loom.build where kind = p_kind.kind and due_at > v_since and due_at <= p_at order by due_at limit 1;
  -- An operator's or an admin's word makes users due whose own rows nobody has touched.
  if not found and p_kind.enabled_at > v_since then
    return true;
  end if;
  if not found and p_kind.recipe is null then
    perform from loom.profile_schema where updated_at > v_since order by updated_at limit 1;
  end if;
  if not found then
    perform from loom.org_setting where updated_at > v_since and model_calls order by updated_at limit 1;
  end if;
  -- So does the clock: a namespace's wait ends, and with the day the tokens of the one before count no more.
  if not found and p_kind.recipe is null then
    perform from loom.profile_schema where wait_until > p_since and wait_until <= p_at order by wait_until limit 1;
  end if;
  if not found then
    perform from loom.setting
    where name = 'model_daily_token_cap' and (p_since at time zone 'UTC')::date < (p_at at time zone 'UTC')::date;
  end if;
  return found;
end
$$;
comment on function loom._anything_due(loom.work_kind, timestamptz, timestamptz) is
  'Whether any build of a kind has fallen due since then, in whatever org, or the kind was switched on, a schema was set, model calls were allowed, a namespace''s wait was over, or a day with a cap on tokens: a few look-ups, which cut an idle wait short. What was due before, and yet not taken by the pass that ended then, cannot be taken (no schema, model calls switched off, the cap), and would open passes in vain.';
