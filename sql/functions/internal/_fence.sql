create or replace function loom._fence(p_text text) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  v_longest integer := 2;
begin
  if strpos(p_text, '```') > 0 then
    select max(char_length(run[1])) into v_longest from regexp_matches(p_text, '`{3,}', 'g') as run;
  end if;
  return repeat('`', v_longest + 1);
end
$$;
comment on function loom._fence(text) is 'A Markdown code fence longer than any run of backticks in the text.';
