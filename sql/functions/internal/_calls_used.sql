create or replace function loom._calls_used(p_purpose text, p_model text, p_calls jsonb) returns loom.model_usage[]
language plpgsql stable
as $$
declare
  v_calls loom.model_usage[];
  v_fit boolean;
begin
  v_fit := p_purpose ~ E'^[a-z][a-z_]{0,63}$' and p_model <> '' and jsonb_typeof(p_calls) = 'array';
  if v_fit then
    v_fit := (
      select bool_and(call ->> 'outcome' ~ E'^[A-Z][A-Z0-9_]{0,63}$' and (
        select bool_and(coalesce(jsonb_typeof(call -> name) = 'number', false))
        from unnest(array['prompt_tokens', 'completion_tokens', 'milliseconds']) as name))
      from jsonb_array_elements(p_calls) as call);
  end if;
  if v_fit is not true then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_calls',
        'reason', 'must list calls, each with a code as its outcome and three numbers, with purpose and model')::text,
      hint = 'What a provider said is never stored: it may hold a user''s text.';
  end if;
  -- What a provider counts is not to be trusted with the limits of a type.
  select array_agg(jsonb_populate_record(null::loom.model_usage, jsonb_build_object('outcome', call -> 'outcome') || (
    select jsonb_object_agg(name, trunc(least(greatest((call -> name)::numeric, 0), 2147483647)))
    from unnest(array['prompt_tokens', 'completion_tokens', 'milliseconds']) as name)))
  into v_calls
  from jsonb_array_elements(p_calls) as call;
  return v_calls;
end
$$;
comment on function loom._calls_used(text, text, jsonb) is
  'The calls that a worker says it made, with what each took and how it ended. LM001 when they are of another shape.';
