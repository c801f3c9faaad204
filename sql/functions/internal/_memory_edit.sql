create or replace function loom._memory_edit(
  p_caller loom.caller, p_old loom.memory, p_at timestamptz, p_value jsonb, p_type text, p_request jsonb,
  p_change text
) returns jsonb
language plpgsql volatile
as $$
declare
  v_live boolean := p_old.version is not null and loom._is_current(p_old, p_at);
  v_dry_run boolean := coalesce(loom._boolean(p_request, 'dry_run'), false);
  v_new loom.memory;
  v_changed boolean;
  v_leaves text[];
  v_ok boolean;
begin
  v_ok := loom._memory_guard(p_old, p_at, loom._text(p_request, 'if_match_sha256'));
  v_new := loom._memory_measure(loom._memory_draft(p_old, v_live, p_type, p_request), p_value);
  v_changed := not v_live or v_new.content_sha256 <> p_old.content_sha256;
  v_new := loom._memory_fields(v_new, p_request, p_at, v_changed);
  -- Under no_delete an earlier end would be a deletion.
  if v_live and loom._memory_locked(p_old, p_at) and v_new.expires_at < coalesce(p_old.expires_at, 'infinity')
    and v_new.expires_at < coalesce(p_old.lock_until, 'infinity') then
    v_ok := loom._memory_guard(p_old, p_at, null, true);
  end if;
  v_ok := loom._memory_pin_guard(p_old, v_new, v_live);
  v_leaves := loom._leaves(p_value);
  v_ok := loom._blacklist_check(p_caller, v_leaves || p_old.memory_key || v_new.source_trace || v_new.tags);
  v_new.tags := loom._attribute_tags(v_new.tags, v_leaves);
  v_new.changed_at := p_at;
  v_new.recorded_at := p_at;
  if not v_changed and loom._same_metadata(p_old, v_new) then
    p_old.changed_at := p_at;
    p_old.reinforcement_count := p_old.reinforcement_count + 1;
    if not v_dry_run then
      perform loom._memory_update(loom._source_mark(p_old, p_old, loom._now()));
    end if;
    return loom._memory_receipt(p_old, p_at, false, true);
  end if;
  if v_dry_run then
    v_new.version := coalesce(p_old.version, 0) + 1;
    v_new.source_part := null;  -- a mark of the row as it stands
  else
    v_new := loom._memory_store(p_old, v_new, p_change, p_caller.actor);
    if v_new.pinned <> (v_live and p_old.pinned) then
      perform loom._audit(p_caller.org, p_caller.actor, p_at,
        case when v_new.pinned then 'memory.pin' else 'memory.unpin' end,
        jsonb_build_object('memory_id', v_new.memory_id));
    end if;
  end if;
  return loom._memory_receipt(v_new, p_at, not v_live, false);
end
$$;
comment on function loom._memory_edit(loom.caller, loom.memory, timestamptz, jsonb, text, jsonb, text) is
  'The one way a caller''s value gets into a locked row: guards, limits, metadata, then a restatement or the next version. Answers the receipt. Errors: LM001, LM201, LM204, LM205, LM402, LM406, LM407.';
