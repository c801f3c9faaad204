create or replace function loom._blacklist_check(p_caller loom.caller, p_texts text[]) returns boolean
language plpgsql volatile
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_scope loom.blacklist_scope;
  v_entry loom.blacklist;
  v_texts text[];
begin
  for v_scope in
    select * from loom.blacklist_scope where org = p_caller.org and namespace in ('', p_caller.namespace)
  loop
    v_texts := coalesce(v_texts, p_texts || array(select loom._folded(text) from unnest(p_texts) as text));
    -- All texts at once, since the server builds its automaton anew each time. (?w) lets ^ and $ match
    -- at the edges of each; only a hit asks which text and which pattern it was.
    if array_to_string(v_texts, E'\n') collate "default" ~* ('(?w)' || v_scope.alternation) then
      select entry.* into v_entry from loom.blacklist as entry, unnest(v_texts) as text
      where entry.org = v_scope.org and entry.namespace = v_scope.namespace
        and text collate "default" ~* loom._blacklist_regex(entry)
      order by created_at, blacklist_id
      limit 1;
      if found then
        raise exception using errcode = 'LM407', message = 'The text holds what must not be stored.',
          detail = jsonb_build_object('reason', v_entry.reason)::text,
          hint = 'Leave out what the blacklist names.';
      end if;
    end if;
  end loop;
  return true;
end
$$;
comment on function loom._blacklist_check(loom.caller, text[]) is
  'LM407 when a text matches a pattern of the caller''s org or namespace, whatever its case.';
