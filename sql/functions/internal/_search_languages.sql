create or replace function loom._search_languages(p_org text, p_namespace text) returns text[]
language plpgsql stable
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_current text := loom._namespace_language(p_org, p_namespace);
  v_languages text[] := array[v_current];
  v_next text := '';
begin
  loop
    select language into v_next from loom.memory_text
    where org = p_org and namespace = p_namespace and language > v_next
    order by language limit 1;
    exit when not found;
    if v_next <> v_current then
      v_languages := v_languages || v_next;
    end if;
  end loop;
  return v_languages;
end
$$;
comment on function loom._search_languages(text, text) is
  'The configurations in which a namespace is to be asked: its own first, then those in which rows still stand since it was another.';
