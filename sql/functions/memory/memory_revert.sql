create or replace function loom.memory_revert(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.revert', p_request);
  v_wanted bigint := loom._required_version(p_request);
  v_old loom.memory := loom._memory_lock(v_caller, loom._required_identifier(p_request, 'memory_key'));
  v_at timestamptz := loom._memory_now(v_old);
  v_oldest timestamptz := v_at - interval '14 days';
  v_version loom.memory_version;
  v_new loom.memory;
  v_ok boolean;
begin
  -- A tombstone of 14 days is gone, whether housekeeping has been there or not.
  if v_old.deleted_at is null or v_old.deleted_at > v_oldest then
    select * into v_version from loom.memory_version
    where org = v_old.org and memory_id = v_old.memory_id and version = v_wanted and content_sha256 is not null;
  end if;
  if v_version.version is null then
    raise exception using errcode = 'LM102', message = 'There is no such memory.',
      detail = jsonb_build_object('version', v_wanted, 'version_text', v_wanted::text)::text,
      hint = 'memory.history lists the versions that hold a value.';
  end if;
  v_ok := loom._memory_guard(v_old, v_at, loom._text(p_request, 'if_match_sha256'));
  v_new := loom._memory_again(v_old, v_version, v_at);
  v_ok := loom._memory_pin_guard(v_old, v_new, v_old.deleted_at is null);
  v_ok := loom._blacklist_check(v_caller, loom._leaves(v_new.value) || v_new.memory_key || v_new.tags);
  v_new := loom._memory_store(v_old, v_new, 'revert', v_caller.actor);
  return loom._memory_receipt(v_new, v_at, v_old.deleted_at is not null, false);
end
$$;
comment on function loom.memory_revert(jsonb) is
'Writes an older version''s content, and what that version said about it, as a new version. Pin and lock stay those of now, and so does the expiry of a current row. Redacted text never comes back.

Request: memory_key*, version*, if_match_sha256.
Returns: row receipt.
Errors: LM001, LM003, LM102 no such version, or it holds no value, LM201, LM204 pinned, LM205 locked, LM302, LM406, LM407.';
