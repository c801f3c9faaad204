create or replace function loom._blacklist_compile(p_org text, p_namespace text) returns void
language plpgsql volatile
as $$
declare
  v_alternation text;
  v_characters bigint;
  v_size numeric;
begin
  select count(distinct letter) into v_characters
  from loom.blacklist, string_to_table(pattern, null) as letter where org = p_org and namespace = p_namespace;
  -- The server keeps a way for each character that it tells apart: out of every part of the automaton,
  -- and out of every class.
  select string_agg(loom._blacklist_regex(entry), '|' order by blacklist_id),
    sum(case pattern_type when 'regex' then loom._pattern_size(pattern, greatest(5, v_characters / 10))
      else char_length(pattern) end)
  into v_alternation, v_size
  from loom.blacklist as entry where org = p_org and namespace = p_namespace;
  v_size := ceil(greatest(v_size, v_size * v_characters / 400));
  if v_size > 20000 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'patterns', 'limit', 20000, 'value', v_size, 'unit', 'characters')::text,
      hint = 'The patterns of a scope are too large together, their bounds written out: remove or simplify some.';
  end if;
  -- Compiled here once, so that what the server cannot compile is refused now and not by every write.
  perform '' ~* v_alternation;
  delete from loom.blacklist_scope where org = p_org and namespace = p_namespace;
  if v_alternation is not null then
    insert into loom.blacklist_scope (org, namespace, alternation) values (p_org, p_namespace, v_alternation);
  end if;
end
$$;
comment on function loom._blacklist_compile(text, text) is 'Joins the patterns of a scope into one regular expression; LM406 when they are too large together.';
