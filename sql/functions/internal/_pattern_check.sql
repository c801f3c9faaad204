create or replace function loom._pattern_check(p_pattern text) returns void
language plpgsql immutable
as $$
declare
  v_plain text := regexp_replace(p_pattern, E'\\\\[^0-9]', 'x', 'g');  -- without its escapes
  v_reason text;
begin
  v_reason := case
    when v_plain ~ E'\\\\[0-9]' then 'has a back-reference'
    when v_plain ~ E'\\(\\?(?!:)' then 'has look-around or an embedded option'
    when p_pattern ~ E'\\\\[AZ]' then E'has \\A or \\Z (write ^ and $)'
    when p_pattern ^@ '***' then 'has a director prefix'
    when v_plain ~ E'\\{[^}]*\\d{4,}' or exists (
      select from regexp_matches(v_plain, E'\\{(\\d{0,3})(?:,(\\d{0,3}))?\\}', 'g') as bound
      where nullif(bound[1], '')::integer > 100 or nullif(bound[2], '')::integer > 100) then 'has a bound over 100'
    when loom._pattern_size(p_pattern, 5) > 2000 then 'is too large with its bounds written out'
  end;
  if v_reason is null then
    v_reason := case loom._regex_matches_empty(p_pattern)
      when true then 'matches every text'
      when false then ''
      else 'does not compile'
    end;
  end if;
  if v_reason = '' then
    return;
  end if;
  raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
    detail = jsonb_build_object('what', 'pattern', 'reason', v_reason)::text,
    hint = 'Plain regular expressions only: no back-references, no look-around, bounds of at most 100.';
end
$$;
comment on function loom._pattern_check(text) is
  'Refuses (LM406) a regular expression that does not compile, or that could run away: back-references, look-around, embedded options, large bounds.';
