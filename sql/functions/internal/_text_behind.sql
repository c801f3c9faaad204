create or replace function loom._text_behind() returns loom.memory_text
language plpgsql stable
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := '';
  v_namespace text := '';
  v_language text := '';
  v_behind loom.memory_text;
begin
  -- What nothing made yet comes first: no search finds it.
  select * into v_behind from loom.memory_text where language = '' order by org, namespace limit 1;
  if found then
    return v_behind;
  end if;
  loop
    -- From one configuration of a namespace to the next by the index, however many rows each has.
    select org, namespace, language into v_org, v_namespace, v_language from loom.memory_text
    where (org, namespace, language) > (v_org, v_namespace, v_language)
    order by org, namespace, language
    limit 1;
    exit when not found;
    if v_language <> loom._namespace_language(v_org, v_namespace) then
      v_behind.org := v_org;
      v_behind.namespace := v_namespace;
      v_behind.language := v_language;
      exit;
    end if;
  end loop;
  return v_behind;
end
$$;
comment on function loom._text_behind() is
  'A namespace some of whose rows are found by another text search configuration than its own, and which; null: there is none.';
