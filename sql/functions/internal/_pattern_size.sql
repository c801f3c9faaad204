create or replace function loom._pattern_size(p_pattern text, p_class numeric) returns numeric
language plpgsql immutable parallel safe
as $$
declare
  v_token text;
  v_before text := '';
  v_outer numeric[] := '{}';  -- of each group that is open: the size before it, and whether what is
  v_outer_empty boolean[] := '{}';  -- before it holds a part that can be empty
  v_total numeric := 0;
  v_empty boolean := false;
  v_last numeric := 0;  -- of the part a bound would repeat
  v_last_empty boolean := false;
  v_bounds text[];
  v_times numeric;
begin
  for v_token in
    select token[1] from regexp_matches(p_pattern,
      E'(\\\\.|\\[\\^?\\]?(?:\\\\.|\\[[:.=](?:\\]|[^\\]]*)[:.=]\\]|[^\\]\\\\])*\\]|\\{\\d+(?:,\\d*)?\\}|\\(\\?:|.)', 'g') as token
  loop
    v_bounds := regexp_match(v_token, E'^\\{(\\d+)(,?)(\\d*)\\}$');
    v_empty := v_empty or v_token in ('*', '?') or coalesce(v_bounds[1]::numeric = 0, false)
      or (v_token in ('|', ')') and v_before in ('', '(', '(?:', '|'));
    if v_bounds is not null then
      v_times := greatest(1, coalesce(nullif(v_bounds[3], ''), v_bounds[1])::numeric,
        case when v_bounds[2] <> '' then v_bounds[1]::numeric + 1 end);
      v_total := v_total - v_last;
      v_last := v_last * v_times;
      -- Each copy of what can be empty leads to every later one.
      if v_last_empty and v_times > 1 then
        v_last := v_last + v_last * v_last / 20;
      end if;
      v_total := v_total + v_last;
    elsif v_token in ('(', '(?:') then
      v_outer := v_outer || v_total;
      v_outer_empty := v_outer_empty || v_empty;
      v_total := 0;
      v_empty := false;
    elsif v_token = ')' and v_outer <> '{}' then
      v_last := v_total;
      v_last_empty := v_empty;
      v_total := v_outer[cardinality(v_outer)] + v_last;
      v_empty := v_empty or v_outer_empty[cardinality(v_outer)];
      v_outer := v_outer[:cardinality(v_outer) - 1];
      v_outer_empty := v_outer_empty[:cardinality(v_outer)];
    elsif v_token not in ('*', '+', '?', '|') then
      v_last := case when v_token ~ E'^(\\[.|\\\\[wWSD])' then p_class else 1 end;
      v_last_empty := false;
      v_total := v_total + v_last;
    end if;
    v_before := v_token;
  end loop;
  return v_total;
end
$$;
comment on function loom._pattern_size(text, numeric) is
  'How large a regular expression is once its bounds are written out: bounds that follow each other add up, nested ones multiply, those of what can be empty count squared. A class of characters counts as so many.';
