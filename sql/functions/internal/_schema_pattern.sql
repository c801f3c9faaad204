create or replace function loom._schema_pattern(p_pattern text) returns text
language plpgsql immutable
as $$
declare
  v_escape constant text := E'\\\\[nrtfv!-/:-@[-`{-~]';  -- of one character
  v_sign constant text := format(E'(?:[^][\\\\-]|%s)', v_escape);  -- that a class may hold
  v_class constant text := format(E'\\[(?!\\^\\])\\^?(?:-?(?:%1$s(?:-%1$s)?|\\\\[dDwWsS])+-?|-)\\]', v_sign);
  v_part constant text := format(E'(\\\\[dDwWsS]|%s|%s)', v_escape, v_class);
  v_times constant text := format(E'(?:[*+?]|\\{%1$s(?:,%1$s?)?\\})\\??', '(?:100|[1-9]?[0-9])');
  v_branches constant text := E'(?:[^][\\\\^$|*+?(){}]\\*?|[|^$])*';  -- once each quantifier is a *
  v_shape text;
  v_former text := '';
  v_longest integer;
begin
  if char_length(p_pattern) not between 1 and 200 then
    return 'must have 1 to 200 characters';
  end if;
  -- What is sound becomes simpler step by step: an escape, a class and at last a group is a character like
  -- any other. What is left of brackets, braces and backslashes belongs to nothing that is taken.
  v_shape := replace(regexp_replace(p_pattern, v_part, 'a', 'g'), '(?:', '(');
  v_shape := regexp_replace(v_shape, v_times, '*', 'g');
  while v_shape <> v_former loop
    v_former := v_shape;
    v_shape := regexp_replace(v_shape, format(E'\\((?=\\|*[^)|])%s\\)', v_branches), 'a', 'g');
  end loop;
  if v_shape !~ format('^%s$', v_branches) then
    return 'is not of the regular expressions that are taken';
  end if;
  select max(char_length(part[1])) into v_longest from regexp_matches(p_pattern, v_part, 'g') as part;
  -- RE2 takes no nested bounds whose product is over 1000; none is larger than this sum.
  if loom._pattern_size(p_pattern, 1) > 1000
    or loom._pattern_size(p_pattern, 5 + coalesce(v_longest, 0)) > 5000 then
    return 'is too large with its bounds written out';
  end if;
  return case when loom._regex_matches_empty(p_pattern) is null then 'does not compile' end;
end
$$;
comment on function loom._schema_pattern(text) is
  'Why a pattern is not taken in a profile schema, null when it is: the subset, which PostgreSQL and RE2 both compile, is that of the comment of loom.profile_schema_set. The dot takes no line break and \d, \w and \s are ASCII, since RE2 is what values are held against.';
