create or replace function loom._about_user(p_caller loom.caller, p_query text) returns boolean
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_said text := loom._spoken(p_query);
  v_words text[] := string_to_array(btrim(v_said), ' ');
begin
  perform from loom.person_word where word = any (v_words);
  if found then
    return true;
  end if;
  -- Written without spaces: anywhere in it.
  perform from loom.person_word where language in ('ja', 'zh') and strpos(v_said, word) > 0;
  if found then
    return true;
  end if;
  return exists (
    select from unnest(loom._names_of_user(p_caller)) as name
    where btrim(loom._spoken(name)) <> '' and strpos(v_said, loom._spoken(name)) > 0);
end
$$;
comment on function loom._about_user(loom.caller, text) is
  'Whether a question is about the user: it has a word of the first or second person, or names them.';
