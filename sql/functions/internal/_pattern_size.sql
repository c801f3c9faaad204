create or replace function loom._pattern_size(p_pattern text) returns numeric
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_token text;
  v_outer numeric[] := '{}';  -- sizes before each group that is open
  v_total numeric := 0;
  v_last numeric := 0;
  v_bounds text[];
begin
  for v_token in
    select token[1] from regexp_matches(p_pattern,
      E'(\\\\.|\\[\\^?\\]?(?:\\[[:.=][^\\]]*[:.=]\\]|[^\\]])*\\]|\\{\\d+(?:,\\d*)?\\}|\\(\\?:|.)', 'g') as token
  loop
    v_bounds := regexp_match(v_token, E'^\\{(\\d+)(,?)(\\d*)\\}$');
    if v_bounds is not null then
      v_total := v_total - v_last
        + v_last * greatest(1, case
          when v_bounds[3] <> '' then v_bounds[3]::numeric
          when v_bounds[2] <> '' then v_bounds[1]::numeric + 1
          else v_bounds[1]::numeric
        end);
    elsif v_token in ('(', '(?:') then
      v_outer := v_outer || v_total;
      v_total := 0;
    elsif v_token = ')' and v_outer <> '{}' then
      v_last := v_total;
      v_total := v_outer[cardinality(v_outer)] + v_last;
      v_outer := v_outer[:cardinality(v_outer) - 1];
    elsif v_token not in ('*', '+', '?', '|') then
      v_last := 1;
      v_total := v_total + 1;
    end if;
  end loop;
  return v_total;
end
$$;
comment on function loom._pattern_size(text) is
  'How large a regular expression is once its bounds are written out: bounds that follow each other add up, nested ones multiply.';
