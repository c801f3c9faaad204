create or replace function loom._blacklist_compile(p_org text, p_namespace text) returns void
language plpgsql volatile
set search_path = loom, pg_temp
as $$
declare
  v_alternation text;
begin
  select string_agg(loom._blacklist_regex(entry), '|' order by blacklist_id) into v_alternation
  from loom.blacklist as entry where org = p_org and namespace = p_namespace;
  delete from loom.blacklist_scope where org = p_org and namespace = p_namespace;
  if v_alternation is not null then
    insert into loom.blacklist_scope (org, namespace, alternation) values (p_org, p_namespace, v_alternation);
  end if;
end
$$;
comment on function loom._blacklist_compile(text, text) is 'Joins the patterns of a scope into one regular expression.';
