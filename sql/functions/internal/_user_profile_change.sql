create or replace function loom._user_profile_change(
  p_caller loom.caller, p_row loom.user_profile, p_delta jsonb, p_change text, p_dry_run boolean default false
) returns jsonb
language plpgsql volatile
as $$
declare
  v_old jsonb := coalesce(p_row.profile, loom._user_profile_empty());
  v_new jsonb := loom.user_profile_merge(v_old, p_delta);
  v_changed boolean := v_new <> v_old;
  v_ok boolean;
begin
  if v_changed then
    v_ok := loom._user_profile_fits(v_new);
    v_ok := loom._blacklist_check(p_caller, loom._leaves(p_delta));
    p_row.profile := v_new;
    p_row.document := null;
    p_row.version := coalesce(p_row.version, 0) + 1;
    p_row.source := coalesce(nullif(p_delta ->> 'source', ''), nullif(p_row.source, ''), p_change);
    if p_dry_run then
      p_row.updated_at := p_caller.called_at;
    else
      p_row := loom._user_profile_store(p_row, p_change, p_caller.actor);
    end if;
  end if;
  return loom._user_profile_json(p_row) || jsonb_build_object('changed', v_changed);
end
$$;
comment on function loom._user_profile_change(loom.caller, loom.user_profile, jsonb, text, boolean) is
  'Merges a checked delta into a locked profile: the next version when that changes anything, else all stays as it is. Errors: LM406, LM407.';
