create or replace function loom._user_profile_settings(p_delta jsonb) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_group text;
  v_field text;
  v_words text[];
begin
  for v_group, v_field, v_words in
    select * from (values
      ('traits', 'style', '{"",concise,balanced,detailed}'::text[]),
      ('traits', 'verbosity', '{"",concise,balanced,detailed}'),
      ('traits', 'expertise', '{"",beginner,intermediate,expert}'),
      ('traits', 'formality', '{"",casual,neutral,formal}'),
      ('preferences', 'format', '{"",bullets,narrative,code_heavy,mixed}')
    ) as known (part, field, words)
  loop
    if jsonb_typeof(p_delta -> v_group) = 'object' then
      perform loom._choice(p_delta -> v_group, v_field, v_words);
    elsif coalesce(p_delta -> v_group, 'null') <> 'null' then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', v_group, 'reason', 'must be an object')::text,
        hint = 'Correct the named field and send the request again.';
    end if;
  end loop;
  if jsonb_typeof(p_delta -> 'traits') = 'object' then
    perform loom._check_fields(p_delta -> 'traits', '{style,verbosity,expertise,formality}');
  end if;
  if jsonb_typeof(p_delta -> 'preferences') = 'object' then
    perform loom._check_fields(p_delta -> 'preferences', '{format,language,topics}');
    perform loom._bounded_text(p_delta -> 'preferences', 'language', 35);
  end if;
  return true;
end
$$;
comment on function loom._user_profile_settings(jsonb) is
  'Checks traits and preferences of a delta: known names, and only the words that each may have; empty says nothing. LM001, LM406.';
