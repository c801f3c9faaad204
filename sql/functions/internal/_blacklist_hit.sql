create or replace function loom._blacklist_hit(p_caller loom.caller, p_texts text[]) returns loom.blacklist
language plpgsql volatile
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
        return v_entry;
      end if;
    end if;
  end loop;
  return null;
end
$$;
comment on function loom._blacklist_hit(loom.caller, text[]) is
  'The first pattern of the caller''s org or namespace that one of the texts matches, whatever its case; null when none does.';
